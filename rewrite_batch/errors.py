"""Every error this program raises on purpose.

    RewriteBatchError                    exit code
      ConfigurationError                 2   somebody must change a setting, a grant or the deployment
        AddressNotAllowed                2
        DatabaseNewerThanCode            2
        MissingExtra                     2
      InputRefused                       65  some of the input was refused; the rest went in
      InvariantBroken                    70  a promise is broken: call a person
      TryAgain                           75  nothing is lost: the next tick goes on
        DatabaseUnavailable              75
        MigrationsPending                75
        LeaseLost                        75
        SpoolFailed                      75
        WrongAccount                     75
        ProviderUnavailable              75
          ProviderRefused                75   a definite no: nothing was done

Messages are advice to the person who reads them. They never hold text of a request or an output, nor a
secret: they are printed and logged as they are.
"""

from typing import ClassVar


class RewriteBatchError(Exception):
    """Something that this program knows how to explain."""

    exit_code: ClassVar[int] = 70


class ConfigurationError(RewriteBatchError):
    """A setting, a grant or the deployment must change; trying again will not help."""

    exit_code = 2


class AddressNotAllowed(ConfigurationError):
    """A batch was sent to an address that no setting names any more: the key does not go there."""


class DatabaseNewerThanCode(ConfigurationError):
    """The database was migrated by a newer release: deploy that release, or restore the older database."""


class MissingExtra(ConfigurationError):
    """A part that production installs leave out is needed: install the extra that the message names."""


class InputRefused(RewriteBatchError):
    """Some lines were refused and are listed with line, field and reason; correct them and load the file again."""

    exit_code = 65


class InvariantBroken(RewriteBatchError):
    """Something that must always hold does not: stop the schedule and call a person."""

    exit_code = 70


class TryAgain(RewriteBatchError):
    """A passing condition: nothing was lost, and the next tick goes on from here."""

    exit_code = 75


class DatabaseUnavailable(TryAgain):
    """The database did not answer, or ended the connection: check that it runs and that DATABASE_URL is right."""


class MigrationsPending(TryAgain):
    """The database is older than the code: run `rewrite-batch migrate`, then start again."""


class LeaseLost(TryAgain):
    """This run was so slow that another took over its work: nothing was sent or written by this one since."""


class SpoolFailed(TryAgain):
    """A file on its way to the provider could not be written, or is not what was written: nothing of it was sent."""


class WrongAccount(TryAgain):
    """The provider does not know a file that we sent: this key sees another account than the one that was used."""


class ProviderUnavailable(TryAgain):
    """The provider did not answer as it should; whether it did what was asked is unknown."""

    def __init__(self, message: str, *, status: int = 0, code: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class ProviderRefused(ProviderUnavailable):
    """The provider said no, and nothing was done."""
