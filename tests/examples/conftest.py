"""Let the tests of this folder import its helper: under importlib mode no folder is on the path."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
