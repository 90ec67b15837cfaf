#!/usr/bin/env bash
# venv.sh [REQUIREMENTS [FOLDER]]: a virtual environment in this folder with what a file of requirements names. Quick where it is there.
set -euo pipefail
requirements=${1:-requirements.txt} folder=${2:-.venv}
# Two targets that run side by side may want the same one.
exec 9<.
flock 9
cmp -s "$requirements" "$folder/requirements" && exit
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --no-compile --disable-pip-version-check -r "$requirements"
cp "$requirements" "$folder/requirements"
