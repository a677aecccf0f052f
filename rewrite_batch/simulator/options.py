"""How a simulator is started. Everything else is a setting that can change while it runs."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SimulatorOptions:
    """`None` means "what the state holds, or else the default", so that a restart forgets no setting."""

    state_dir: Path
    api_key: str
    host: str = "127.0.0.1"
    port: int = 0
    control_port: int = 0
    time_scale: float | None = None
    seed: int | None = None
    bad_share: float | None = None
    answers_dir: Path | None = None
    # Only used for a new state: the virtual time at which it begins. None is now.
    clock_start: float | None = None
    # The process that started this one: when it dies, so does the simulator (Linux only).
    die_with: int | None = None
