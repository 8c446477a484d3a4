"""Problems in quantised formats."""
