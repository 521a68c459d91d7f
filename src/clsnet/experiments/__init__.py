"""Every table and figure of the paper, one file each. Listing them imports none of them."""
