from tests.pictures import encoded, picture, put

__all__ = ["encoded", "picture", "put"]
