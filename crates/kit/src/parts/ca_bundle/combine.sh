combine || exit 1
