#!/bin/sh
# Install code-server, which is VS Code in a browser, into a folder: `code-server.sh FOLDER`.
#
# Its native parts are compiled here, as nothing but the npm registry is asked: that takes a C++ compiler and, on Debian,
# libkrb5-dev. Without what it would download besides, searching in files does not work; no test searches.
set -eu
version=4.100.3  # the last for Node 20
mkdir -p "$1"
folder=$(cd "$1" && pwd)
stamp=$folder/.code-server-$version
test ! -e "$stamp" || exit 0
echo '{ "private": true }' >"$folder/package.json"
quiet='--ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error'
headers=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
test ! -e "$headers/include/node/node_api.h" || export npm_config_nodedir="$headers"
cd "$folder"
# shellcheck disable=SC2086  # they are several
npm install $quiet "code-server@$version"
npm rebuild argon2
cd node_modules/code-server/lib/vscode
# shellcheck disable=SC2086
npm install $quiet --omit=dev
npm rebuild kerberos @vscode/deviceid @vscode/spdlog native-watchdog node-pty
touch "$stamp"
