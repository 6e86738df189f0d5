# Creates memory that can be sealed: after that nobody, including the worker, can
# change its content or size. Node does not have the two system calls.
#
# Prints the descriptor's number, by which the worker opens the memory, and after
# a line on its input the active seals.
use strict;
use warnings;

my ($memfd_create_number, $bytes) = @ARGV;
$| = 1;
# MFD_CLOEXEC, MFD_ALLOW_SEALING, and MFD_NOEXEC_SEAL where the kernel knows it: some refuse memory without.
my $name = 'berth-template';
my $fd = syscall($memfd_create_number, $name, 1 | 2 | 8);
$fd = syscall($memfd_create_number, $name, 1 | 2) if $fd < 0;
$fd >= 0 or die "memfd_create: $!";
open(my $memory, '+<&=', $fd) or die "open: $!";
truncate($memory, $bytes) or die "ftruncate: $!";
print "$fd\n";

defined(my $word = <STDIN>) or exit;
# F_ADD_SEALS with F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE; then F_GET_SEALS.
fcntl($memory, 1033, 1 | 2 | 4 | 8) or die "seal: $!";
print fcntl($memory, 1034, 0) & 15, "\n";
