"""The host's log as a plain host would keep it: one formatted line for each record, in memory."""

from __future__ import annotations

import io
import logging
import sys

__all__ = ["HostLog"]


class HostLog(logging.StreamHandler[io.StringIO]):
    """Takes every record of the process. `records` counts them, `errors` names each failure to write one."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self.records = 0
        self.errors: list[str] = []

    def install(self) -> None:
        """Become the only handler of the root logger. asyncio's own notes on its debug level are not wanted."""
        root = logging.getLogger()
        root.handlers[:] = [self]
        root.setLevel(logging.DEBUG)
        logging.getLogger("asyncio").setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        self.records += 1
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        self.errors.append(f"{type(sys.exc_info()[1]).__name__} while writing {record.msg!r:.200}")

    @property
    def text(self) -> str:
        return self.stream.getvalue()
