#!/bin/bash
# What is installed works without the source tree: pipelines, sweeps, schemas, manual pages, completion, pkg-config and CMake files, the
# Debian package.
#   install.sh BUILD SOURCE
set -u
build=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix"
failures=0
check() {   # check WHAT CONDITION...
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=1; fi
}
cmake --install "$build" --prefix "$prefix" > "$work/install.txt" 2>&1 || { cat "$work/install.txt"; exit 1; }

# A user's shell: only the prefix and the system in the path, another folder.
mkdir "$work/user"
cd "$work/user"
as_user() { env -i HOME="$work/user" PATH="$prefix/bin:/usr/bin:/bin" "$@"; }
share="$prefix/share/weft"
check "no link or script leads back to the source tree" test -z "$(find "$prefix" -type l -lname "$root*"; grep -rlF "$root" "$prefix" --include='*.mk' --include='*.py' --include='*.cmake' --include='*.pc')"
as_user weft-zoo lenet --seed 1 -o lenet.onnx
check "the pipeline" as_user make --no-print-directory -s -f "$share/pipelines/model.mk" MODEL=lenet.onnx CHIP="$share/targets/isaac-168x96.json"
check "... made a program" as_user weft-inspect verify lenet.prog lenet.timing lenet.selection
printf 'model\tchip\nlenet\tisaac-168x96\nmlp\texample-64x64\n' > table.tsv
check "a sweep" as_user weft-sweep run table.tsv -o sweep -j 2
check "... has results" test "$(grep -c -P '\tok\t' sweep/results.tsv)" = 2

check "flatc and the installed schemas" as_user flatc --json --strict-json -o . "$share/schemas/program.fbs" -- lenet.prog
check "... print a program" python3 -c 'import json; assert json.load(open("lenet.json"))["file_bytes"] > 1000'
for schema in "$share"/schemas/*.fbs; do
  check "the schema of the program and the installed one are equal: $(basename "$schema")" cmp -s "$schema" <(as_user weft-inspect schema "$(basename "$schema" .fbs)")
done
if command -v file > /dev/null; then
  check "file(1) knows a program" grep -q 'weft program' <(file -L -m "$share/magic" lenet.prog)
fi

for program in "$prefix"/bin/weft-*; do
  page="$prefix/share/man/man1/$(basename "$program").1"
  check "manual page of $(basename "$program")" test -s "$page"
done
check "manual pages of all kinds" test "$(ls "$prefix/share/man/man5" | wc -l)" = $(($(ls "$share"/schemas/*.fbs | wc -l) + 1))
if command -v groff > /dev/null; then
  for page in "$prefix"/share/man/man?/*; do
    check "groff likes $(basename "$page")" test -z "$(groff -man -Tutf8 -ww -rLL=200n "$page" 2>&1 > /dev/null | grep -v -e "can't break" -e 'cannot break' -e 'cannot adjust')"
  done
fi

# complete WORDS...: what bash offers for the last word.
complete_words() {
  as_user bash -c 'source "$0/share/bash-completion/completions/weft-lower"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; printf "%s\n" "${COMPREPLY[@]}"' "$prefix" "$@"
}
check "bash completes an option" grep -qx -- --max-depth <(complete_words weft-lower --ma)
check "bash completes a subcommand" grep -qx diff <(complete_words weft-inspect di)
check "bash completes an option of a subcommand" grep -qx -- --where <(complete_words weft-inspect dump --wh)
check "bash completes a file" grep -qx lenet.onnx <(complete_words weft-frontend lenet.on)
if command -v zsh > /dev/null; then check "zsh reads its completion" zsh -n "$prefix/share/zsh/site-functions/_weft"; fi

check "pkg-config" test "$(PKG_CONFIG_PATH="$prefix/share/pkgconfig" pkg-config --variable=schemadir weft | sed 's/\\//g')" = "$share/schemas"
mkdir project
cat > project/CMakeLists.txt << 'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(user NONE)
find_package(weft 0.1 REQUIRED)
add_custom_command(OUTPUT net.onnx COMMAND weft::zoo lenet -o net.onnx VERBATIM)
add_custom_command(OUTPUT net.graph COMMAND weft::frontend net.onnx -o net.graph DEPENDS net.onnx VERBATIM)
add_custom_target(graph ALL DEPENDS net.graph ${WEFT_SCHEMA_DIR}/graph.fbs)
CMAKE
check "find_package(weft)" cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" --log-level=ERROR
check "... and its programs as commands" cmake --build project/build --target graph
check "... make files" test -s project/build/net.graph

# The Debian package, unpacked (root could install it).
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/packages" > "$work/cpack.txt" 2>&1) || { cat "$work/cpack.txt"; exit 1; }
package=$(ls "$work"/packages/*.deb)
check "the package depends on what it needs" grep -q 'Depends: .*libonnx' <(dpkg-deb -I "$package")
dpkg-deb -x "$package" "$work/unpacked"
check "the packaged program runs" "$work/unpacked/usr/bin/weft-lower" --version
check "the package has all that was installed" diff <(cd "$prefix" && find . -not -path '*__pycache__*' | sort) <(cd "$work/unpacked/usr" && find . | sort)
check "pkg-config of the package" grep -q '^prefix=/usr$' "$work/unpacked/usr/share/pkgconfig/weft.pc"
exit $failures
