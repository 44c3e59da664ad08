"""Places outside fairground that hear of a run while it trains: plain data out, nothing back."""
