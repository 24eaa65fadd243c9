"""One small program per peer; each answers a specification on standard input with an outcome on standard output."""
