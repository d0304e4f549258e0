"""Which sizes vary, and how far: what was asked, offered by itself, tied together or taken back."""
