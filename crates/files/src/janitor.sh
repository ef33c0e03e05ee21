# Lines: what and name, or "gone" and name. When they end, what is not gone is removed.
trap '' HUP INT TERM
gone=
while IFS= read -r line; do
    case $line in
        "gone "*) gone="$gone|${line#gone }|" ;;
        *) set -- "$@" "$line" ;;
    esac
done
for line; do
    name=${line#* }
    case $gone in *"|$name|"*) continue ;; esac
    case $line in
        # Others that die with the process may still write there.
        "folder "*) for try in 1 2 3 4 5; do rm -rf -- "$name" && break; sleep 0.2; done ;;
        "file "*) rm -f -- "$name" ;;
        "mount "*) umount -l -- "$name"; rm -f -- "$name" ;;
        "link "*) ip link delete dev "$name" ;;
    esac
done
