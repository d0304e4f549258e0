"""The strategies of capture, a file each, tried in the order of their rungs."""
