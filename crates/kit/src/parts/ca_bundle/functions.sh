# Settings, from the environment:
#   CA_BUNDLE_FILE_PATHS   files to take, separated by spaces
#   CA_BUNDLE_MOUNT_PATHS  directories whose *.crt and *.pem to take after them
#   CA_BUNDLE_OUTPUT       the file to write
# "|| return 1" everywhere: a shell ignores "set -e" in whatever is called as a condition.

# each COMMAND: runs COMMAND FILE for every source that exists, in order.
each() {
  for file in $CA_BUNDLE_FILE_PATHS; do
    if [ -f "$file" ]; then "$1" "$file" || return 1; fi
  done
  for dir in $CA_BUNDLE_MOUNT_PATHS; do
    for file in "$dir"/*.crt; do
      if [ -f "$file" ]; then "$1" "$file" || return 1; fi
    done
    for file in "$dir"/*.pem; do
      if [ -f "$file" ]; then "$1" "$file" || return 1; fi
    done
  done
}

# A source may lack the newline at its end.
with_newline() { cat "$1" && echo; }

combine() {
  umask 0077
  new="$CA_BUNDLE_OUTPUT.tmp"
  each with_newline > "$new" || return 1
  count=$(each echo | wc -l) || return 1
  chmod 0644 "$new" || return 1
  mv -f "$new" "$CA_BUNDLE_OUTPUT" || return 1
  echo "Combined $((count)) CA bundle sources into $CA_BUNDLE_OUTPUT"
  echo "Certificate count: $(grep -c 'BEGIN CERTIFICATE' "$CA_BUNDLE_OUTPUT")"
}
