"""One small program per peer; specifications come on standard input, outcomes go to standard output."""
