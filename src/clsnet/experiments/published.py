"""The table of the paper with which methods are compared."""

from __future__ import annotations

from dataclasses import dataclass

from clsnet.evaluation.consistency import greatest_accuracy

PAPER_HARDWARE = "RTX 3080 Ti"
ROUNDING = 1e-4  # of three figures of four digits


@dataclass(frozen=True)
class Row:
    """A row of the paper's table "Results on FashionMNIST-10/5"."""

    avg_acc: float
    bwt: float | None
    fwt: float | None
    seconds: float
    model_mb: float
    exemplar_mb: float


TABLE: dict[str, dict[str, Row]] = {
    "FashionMNIST-10/5": {
        "None": Row(0.1981, None, None, 50.45, 5.83, 0.0),
        "Joint": Row(0.9661, None, None, 59.01, 5.83, 0.0),
        "MAS": Row(0.3344, -0.5897, -0.2092, 102.73, 17.47, 0.0),
        "EWC": Row(0.4041, -0.7474, -0.0737, 80.54, 52.43, 0.0),
        "SI": Row(0.5567, -0.3748, -0.1325, 66.28, 17.47, 0.0),
        "DMC": Row(0.7103, -0.3510, -0.2647, 43.21, 11.65, 0.0),
        "OWM": Row(0.8012, -0.1658, -0.0713, 49.23, 11.65, 0.0),
        "BiR": Row(0.6928, -0.3645, -0.0208, 29.38, 5.83, 5.98),
        "RtF": Row(0.7107, -0.2951, -0.0296, 41.23, 5.83, 5.98),
        "FS-DGPM": Row(0.8058, -0.1358, -0.0930, 66.10, 5.83, 5.98),
        "GEM": Row(0.8299, -0.0714, -0.0901, 50.85, 5.83, 5.98),
        "LOGD": Row(0.8302, -0.1105, -0.0498, 340.18, 5.83, 5.98),
        "IL2M": Row(0.8703, -0.0683, -0.0201, 53.56, 5.83, 5.98),
        "RM": Row(0.8875, -0.1632, -0.0748, 188.09, 5.83, 5.98),
        "SpaceNet": Row(0.6481, -0.2102, -0.0628, 14.97, 5.83, 0.0),
        "EFT": Row(0.7953, -0.1528, -0.0652, 152.46, 42.61, 0.0),
        "RPS-Net": Row(0.8061, -0.0297, -0.0305, 59.81, 46.64, 5.98),
        "PCL": Row(0.8125, -0.1305, -0.0679, 430.25, 5.83, 0.0),
        "DER": Row(0.8632, -0.1371, -0.0224, 145.98, 213.60, 5.98),
        "MEMO": Row(0.8758, -0.1386, -0.0259, 30.48, 138.76, 5.98),
        "FOSTER": Row(0.8831, -0.1640, -0.0985, 41.42, 85.22, 5.98),
        "CLSNet": Row(0.9185, -0.0644, -0.0194, 15.89, 6.13, 0.0),
    }
}


def paper_row(sequence: str, name: str | None) -> Row | None:
    """Return the paper's row for a method under the paper's name, where there is one.

    Examples
    --------
    >>> paper_row("FashionMNIST-10/5", "CLSNet").avg_acc
    0.9185
    """
    return TABLE.get(sequence, {}).get(name or "")


def exceeded(sequence: str, row: Row) -> float | None:
    """Return the greatest accuracy that a row's BWT and FWT allow, if the row exceeds it.

    Examples
    --------
    >>> round(exceeded("FashionMNIST-10/5", paper_row("FashionMNIST-10/5", "EWC")), 4)
    0.3431
    >>> exceeded("FashionMNIST-10/5", paper_row("FashionMNIST-10/5", "CLSNet"))
    """
    if row.bwt is None or row.fwt is None:
        return None
    bound = greatest_accuracy(int(sequence.rpartition("/")[2]), row.bwt, row.fwt)
    return bound if row.avg_acc > bound + ROUNDING else None
