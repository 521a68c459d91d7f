from tests.arrays.conftest import back, device, on

__all__ = ["back", "device", "on"]
