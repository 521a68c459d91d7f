"""Parts that compared methods share: trainers, networks, buffers, penalties, closed forms."""
