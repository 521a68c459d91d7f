"""Ways to bring files to this machine: a Debian package, or a download."""

import os
import shutil
import subprocess
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from clsnet.errors import ClsnetError
from clsnet.images import Report

TIMEOUT = 10
CHUNK = 1 << 16
OUTDATED_LISTS = ("Unable to locate package", "Can't find a source", "404")


def unpack_debian_package(package: str, folder: Path, report: Report) -> None:
    """Unpack a Debian package's files into a folder, without installing it."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise ClsnetError("this machine has no apt-get and dpkg-deb")
    stage = f"Debian package {package}"
    report(stage, 0, 0)
    try:
        _apt_download(package, folder)
        for deb in folder.glob("*.deb"):
            _run("dpkg-deb", "-x", str(deb), str(folder), cwd=folder)
            report(stage, deb.stat().st_size, deb.stat().st_size)
    except subprocess.CalledProcessError as error:
        last_line = (error.stderr.strip() or str(error)).splitlines()[-1]
        raise ClsnetError(last_line.removeprefix("E: ")) from error


def download(url: str, path: Path, report: Report) -> None:
    """Download a file."""
    try:
        with urlopen(url, timeout=TIMEOUT) as response, path.open("wb") as file:
            total = int(response.headers.get("Content-Length", 0))
            report(path.name, 0, total)
            while chunk := response.read(CHUNK):
                file.write(chunk)
                report(path.name, file.tell(), total)
    except HTTPError as error:
        raise ClsnetError(f"{url}: {error}") from error
    except URLError as error:
        raise ClsnetError(f"{url}: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise ClsnetError(f"{url}: {error}") from error


def _apt_download(package: str, folder: Path) -> None:
    try:
        _apt_get("download", package, cwd=folder)
    except subprocess.CalledProcessError as error:
        if os.geteuid() != 0 or not any(sign in error.stderr for sign in OUTDATED_LISTS):
            raise
        _apt_get("update", cwd=folder)
        _apt_get("download", package, cwd=folder)


def _apt_get(*arguments: str, cwd: Path) -> None:
    options = ("-oAcquire::Retries=0", f"-oAcquire::http::Timeout={TIMEOUT}")
    _run("apt-get", "-q", *options, *arguments, cwd=cwd)


def _run(*command: str, cwd: Path) -> None:
    subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
