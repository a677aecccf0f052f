"""What a pass of reconcile did, in numbers."""

from dataclasses import dataclass


@dataclass
class Reconciled:
    adopted: int = 0
    abandoned: int = 0
    waiting: int = 0
    twins_cancelled: int = 0
    orphans_cancelled: int = 0
    files_deleted: int = 0
    unreadable: int = 0  # put off: something did not answer, or must not be decided now
    broken: int = 0  # a rule of the tables forbids what must be done: a person must look
    units_released: int = 0
