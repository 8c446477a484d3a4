"""Problems of a fused block."""
