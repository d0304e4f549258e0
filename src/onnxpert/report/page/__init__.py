"""The parts of the HTML page; its style and script are files of their own beside them."""
