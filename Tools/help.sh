# Sourced first by the tools that are shell scripts: asked with --help or -h, they print the comment at
# their head, and do nothing.
# shellcheck shell=bash
case ${1-} in
  --help | -h)
    sed -n '2,${ /^#/!q; s/^# \{0,1\}//p; }' "${BASH_SOURCE[1]}"
    exit 0 ;;
esac
