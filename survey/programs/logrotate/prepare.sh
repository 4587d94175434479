# A log of 400 lines, and how it is rotated. Arguments: directives.
set -e
mkdir data/log
seq -f 'line %g' 400 >data/log/app.log
{
    echo "$PWD/data/log/app.log {"
    printf '  %s\n' rotate\ 4 compress "$@"
    echo '}'
} >rotate.conf
chmod 644 rotate.conf
