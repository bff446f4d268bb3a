"""The same bytes into a server on `sansmcp` and one on the official SDK, both over stdio."""
