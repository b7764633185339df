#!/usr/bin/env bash
# Installs the Debian packages that are missing; does nothing, quickly, when all are there.
#   tools/install_packages.sh build|test|lint|models
set -euo pipefail

build="g++ cmake ninja-build make libboost1.81-dev libssl-dev libb2-dev libprotozero-dev libminizip-dev zlib1g-dev
       libcli11-dev libspdlog-dev libfmt-dev libxxhash-dev ca-certificates"
declare -A groups=(
  [build]="$build"
  [test]="$build ccache libgtest-dev libgmock-dev python3-venv python3-pip"
  [lint]="clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev python3"
  [models]="maven python3-pip"
)

missing=()
for group in "$@"; do
  for package in ${groups[$group]}; do
    # A tool that is there by other means (a Maven of one's own) is as good.
    case $package in maven) command -v mvn > /dev/null && continue ;; esac
    dpkg-query -W -f='${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing+=("$package")
  done
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
echo "installing: ${missing[*]}" >&2
$sudo apt-get update -qq
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
