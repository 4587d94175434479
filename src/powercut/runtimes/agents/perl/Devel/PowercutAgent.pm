# Tells powercut's tracer which line of Perl makes each call that changes files.
#
# Before: perl has loaded this in the place of a debugger, through PERL5OPT, and no line of the program has been compiled.
# After: while a statement of the program's own files runs, a slot in memory holds the number of its stack
# (native/told_format.h); statements of libraries leave that of the line that called them. Where no tracer listens, nothing
# is debugged.
package Devel::PowercutAgent;

our $TRACER  = 0x70637374;
our $WRITE   = 1;            # the number of the system call
our $DEPTH   = 60;           # frames of a stack
our $MOST    = 20_000;       # stacks that are remembered; one forgotten is told again
our $LONGEST = 2_000_000;    # statements that are followed: beyond, a program that computes would take too long
our $LIBRARY = qr{^(/usr|/usr/local)/(lib|share)/([^/]+/)?perl|^/etc/perl/|/(site|vendor)_perl/|/lib/perl5/|^\(eval};
our $NONE    = "\0" x 8;
our $BEGAN   = readlink '/proc/self/cwd';    # where names of files without a folder are from

our ( $pid, $last, %numbers, %rows, %library ) = ( $$, 0 );
our $slot = 'pctold1S' . $NONE x 3;    # itself stands in memory, so it is only ever written into

sub told {
    my ( $message, $errno ) = ( $_[0], $! );
    my $told = syscall( $WRITE, $TRACER, $message, length $message ) > 0;
    $! = $errno;
    return $told;
}

# The number of a line in a function that the stack with the number $chain called.
sub define {
    my ( $name, $file, $line, $chain ) = @_;
    if ( keys %numbers >= $MOST ) {
        %numbers = %rows = %DB::next = ();
    }
    $file = "$BEGAN/$file" if $file !~ m{^/} && defined $BEGAN;
    my @rows = ( "$name\t$file\t$line", @{ $rows{$chain} // [] } );
    splice @rows, $DEPTH;
    my $text = join "\n", @rows;
    return $numbers{$text} if $numbers{$text};
    $last = 0, $pid = $$ if $pid != $$;
    my $number  = pack 'Q', ++$last | $pid << 32;
    my $message = "pctold1D${number}perl\0$text";
    utf8::encode($message) if utf8::is_utf8($message);
    told($message);
    $rows{$number} = \@rows;
    return $numbers{$text} = $number;
}

sub stop {
    $DB::single = 0;
    substr $slot, 8, 8, $NONE;
    undef *DB::sub;
    told("pctold1Nlines of Perl are missing from statement $LONGEST on: following all would take too long");
}

package DB;

our ( $single, $sub, %next );
our ( $name, $chain, $now, $left ) = ( 'main', ($Devel::PowercutAgent::NONE) x 2, $Devel::PowercutAgent::LONGEST );

# Before a statement.
sub DB {
    my ( undef, $file, $line ) = caller;
    return Devel::PowercutAgent::stop() unless --$left;
    return if $Devel::PowercutAgent::library{$file} //= $file =~ $Devel::PowercutAgent::LIBRARY ? 1 : 0;
    $now = $next{$chain}{"$name\t$file"}[$line] //= Devel::PowercutAgent::define( $name, $file, $line, $chain );
    substr $Devel::PowercutAgent::slot, 8, 8, $now;
}

# In the place of each call. What the statement does behind it is done by the statement again.
sub sub {
    my $before = $now;
    local $chain = $now;
    local $name  = ref $sub ? 'anonymous' : $sub;
    if (wantarray) {
        my @result = &$sub;
        substr $Devel::PowercutAgent::slot, 8, 8, $now = $before;
        return @result;
    }
    if ( defined wantarray ) {
        my $result = &$sub;
        substr $Devel::PowercutAgent::slot, 8, 8, $now = $before;
        return $result;
    }
    &$sub;
    substr $Devel::PowercutAgent::slot, 8, 8, $now = $before;
    return;
}

sub lsub : lvalue { &$sub }

$^P = 0;
if ( Devel::PowercutAgent::told("pctold1Hperl\0$]") ) {
    syscall $Devel::PowercutAgent::WRITE, $Devel::PowercutAgent::TRACER, $Devel::PowercutAgent::slot, 32;
    $^P     = 0x03;    # before each statement and in the place of each call
    $single = 1;
}

1;
