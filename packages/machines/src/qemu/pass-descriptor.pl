# Writes a line to the socket on descriptor 3 with descriptor 4 as its ancillary
# data. QEMU accepts descriptors only like this, and Node cannot send one.
use strict;
use warnings;

my ($sendmsg_number, $line) = @ARGV;
my $vector = pack('P Q', $line, length $line);
# One control message: SOL_SOCKET, SCM_RIGHTS, the descriptor.
my $control = pack('Q l l l x4', 20, 1, 1, 4);
my $message = pack('Q L x4 P Q P Q l x4', 0, 0, $vector, 1, $control, length $control, 0);
syscall($sendmsg_number, 3, $message, 0) == length $line or die "sendmsg: $!";
