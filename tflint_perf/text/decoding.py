"""The bytes of a `.py` file, decoded as Python does it, and back without a loss."""

from __future__ import annotations

from collections.abc import Sequence

from tflint_perf.errors import EditError, SourceError
from tflint_perf.records import dataclass

_BOM = b"\xef\xbb\xbf"
Piece = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A script's bytes and the text that they stand for."""

    data: bytes
    written: str
    encoding: str
    bom: bytes = b""

    @classmethod
    def from_bytes(cls, data: bytes, path: str) -> PythonFile:
        """Decode by byte-order mark, declaration (PEP 263), or else as UTF-8.

        Raises:
            SourceError: wrong bytes for the encoding, an unknown one, or NUL bytes.
        """
        bom = _BOM if data.startswith(_BOM) else b""
        if (nul := data.find(b"\0")) >= 0:
            utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
            what = "UTF-16, which Python does not read" if utf16 else "a NUL byte: not Python source"
            raise SourceError(f"{_where(data, nul, path)}: {what}")
        encoding = _declared(data, path)
        try:
            return cls(data, data[len(bom) :].decode(encoding), encoding, bom)
        except UnicodeDecodeError as error:
            at = len(bom) + error.start
            raise SourceError(
                f"{_where(data, at, path)}: byte 0x{data[at]:02x} is not {_shown(encoding)}"
            ) from None
        except LookupError:  # a codec of Python's, but not one of text, such as `rot13`
            raise SourceError(f"{path}:1: `{encoding}` is not an encoding of text") from None

    def replaced(self, pieces: Sequence[Piece]) -> PythonFile:
        """The file with pieces of its text replaced: (start, end, content), sorted, apart.

        Raises:
            EditError: the encoding has no way to write it, or doesn't write back what was read.
        """
        text = spliced(self.written, pieces)
        try:
            if self.bom + self.written.encode(self.encoding) != self.data:
                raise EditError(f"{_shown(self.encoding)} would not be written back as it was read")
            data = self.bom + text.encode(self.encoding)
        except UnicodeEncodeError:
            raise EditError(f"{_shown(self.encoding)} cannot write the fix") from None
        return PythonFile(data, text, self.encoding, self.bom)


def encoded(text: str, path: str) -> bytes:
    """Text that others have decoded, in the encoding that it declares.

    What that can't write becomes `?`, so that places stay.
    """
    data = text.encode("utf-8", "replace")
    if "coding" not in text[:4096]:
        return data
    try:
        encoding = _declared(text[:4096].encode("ascii", "replace"), path)
        return data if encoding == "utf-8" else text.encode(encoding, "replace")
    except (SourceError, LookupError, UnicodeError):  # for whoever reads it to tell
        return data


def spliced(text: str, pieces: Sequence[Piece]) -> str:
    """The text with pieces of it replaced: (start, end, content), sorted, apart."""
    parts = []
    at = 0
    for start, end, content in pieces:
        parts += [text[at:start], content]
        at = end
    return "".join([*parts, text[at:]])


def _declared(data: bytes, path: str) -> str:
    # Python counts a lone carriage return as a line end here too, which `detect_encoding` doesn't.
    head = data[:4096].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n", 2)[:2]
    if b"coding" not in b"\n".join(head):
        return "utf-8"
    import io
    from tokenize import detect_encoding

    # Bytes that aren't UTF-8 are the business of whoever decodes them; here they would hide the declaration.
    ascii_head = b"\n".join(head).decode("ascii", "replace").replace("\ufffd", "?").encode()
    if data.startswith(_BOM):
        ascii_head = _BOM + ascii_head[len(_BOM) :]
    try:
        encoding, _ = detect_encoding(io.BytesIO(ascii_head).readline)
    except SyntaxError as error:
        if data.startswith(_BOM):
            raise SourceError(
                f"{path}:1: declares an encoding, but begins with the UTF-8 byte order mark"
            ) from None
        raise SourceError(f"{path}:1: {error.msg}") from None
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _shown(encoding: str) -> str:
    return "UTF-8" if encoding == "utf-8" else f"`{encoding}`"


def _where(data: bytes, at: int, path: str) -> str:
    rows = data[:at].replace(b"\r\n", b"\n").replace(b"\r", b"\n").removeprefix(_BOM).split(b"\n")
    return f"{path}:{len(rows)}:{len(rows[-1].decode('utf-8', 'replace')) + 1}"
