"""Subnetwork II: the analytical classifier, from representations A to weights Omega."""
