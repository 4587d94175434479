# What each of the five programs must never lose (see README.md).
case "$(cat config)" in "theme = light" | "theme = dark") ;; *) echo "config is damaged"; exit 1 ;; esac
case "$(cat table)" in "old old old" | "new new new") ;; *) echo "table is damaged"; exit 1 ;; esac
! grep -q entry "$POWERCUT_ACKED" || grep -q "entry 1" entry || { echo "the entry is lost"; exit 1; }
! grep -q paid "$POWERCUT_ACKED" || grep -q "paid 10" journal || { echo "the payment is lost"; exit 1; }
! grep -q "blob at 0" index || grep -q "blob blob" blob || { echo "the index leads nowhere"; exit 1; }
