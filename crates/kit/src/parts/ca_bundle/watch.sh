# Kubelet replaces the files of a mounted ConfigMap; this keeps the combined bundle up with them.
checksum() { each cat | sha256sum | cut -d ' ' -f 1; }

update() {
  if combine; then
    sum=$1
    echo "Combined CA bundle updated successfully"
  else
    echo "ERROR: Failed to regenerate combined CA bundle"
  fi
}

sum=$(checksum)
echo "CA bundle watcher started"
echo "Interval: ${CA_BUNDLE_WATCH_INTERVAL}s"
echo "Files: $CA_BUNDLE_FILE_PATHS"
echo "Directories: $CA_BUNDLE_MOUNT_PATHS"
echo "Output: $CA_BUNDLE_OUTPUT"
echo "Checksum: $sum"

# The sources may have changed while this container was down.
if [ "$(each with_newline | sha256sum)" != "$(sha256sum < "$CA_BUNDLE_OUTPUT")" ]; then
  echo "CA bundle is out of date"
  update "$sum"
fi

while :; do
  sleep "$CA_BUNDLE_WATCH_INTERVAL"
  new_sum=$(checksum)
  if [ "$new_sum" != "$sum" ]; then
    echo "CA bundle change detected (checksum: $sum -> $new_sum)"
    update "$new_sum"
  fi
done
