"""`python -m rewrite_batch.simulator '{"state_dir": "…", "api_key": "…"}'`: options as one JSON object."""

import json
import sys
from pathlib import Path

from rewrite_batch.simulator.options import SimulatorOptions
from rewrite_batch.simulator.serve import serve


def main() -> None:
    given = json.loads(sys.argv[1])
    for name in ("state_dir", "answers_dir"):
        if given.get(name) is not None:
            given[name] = Path(given[name])
    serve(SimulatorOptions(**given))


main()
