"""Problems of one operator, or two tightly bound."""
