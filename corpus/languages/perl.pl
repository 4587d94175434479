use strict;
use warnings;
use IO::Handle;

my $fixed = "@ARGV" eq "fixed";
$| = 1;

sub sync {
    my ($path) = @_;
    sysopen my $file, $path, 0 or die "$path: $!";
    $file->sync;
}

sub config {
    open my $file, ">", "config.new" or die $!;
    print $file "theme = dark\n";
    close $file;    # LOST config
    sync("config.new") if $fixed;
    rename "config.new", "config";    # SURVIVED config
}

sub entry {
    open my $file, ">", "entry.new" or die $!;
    print $file "entry 1\n";
    $file->flush;
    $file->sync;
    close $file;
    rename "entry.new", "entry";      # LOST entry
    sync(".") if $fixed;
    print "entry\n";                  # ACKED entry
}

sub table {
    my $name = $fixed ? "table.new" : "table";
    open my $file, ">", $name or die $!;    # SURVIVED table
    print $file "new new new\n";
    $file->flush;                           # LOST table
    $file->sync;
    close $file;
    rename $name, "table" if $fixed;
}

sub record { return "paid 10\n" }

sub journal {
    open my $file, ">>", "journal" or die $!;
    syswrite $file, record();    # LOST journal
    $file->sync if $fixed;
    print "paid\n";              # ACKED journal
    $file->sync;
}

sub order {
    open my $blob,  "+<", "blob"  or die $!;
    open my $index, "+<", "index" or die $!;
    syswrite $blob, "blob blob\n";     # LOST order
    $blob->sync if $fixed;
    syswrite $index, "blob at 0\n";    # SURVIVED order
    $index->sync;
    $blob->sync;
}

for my $mistake ( \&config, \&entry, \&table, \&journal, \&order ) {
    $mistake->();
    sync(".");
}
