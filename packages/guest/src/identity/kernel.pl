# System calls of a machine's agent that Node does not have. Reads lines of
# "ENTROPY SECONDS NANOSECONDS", with the entropy in hexadecimal, and answers each
# with "ok" or with what the kernel refused.
#
# It runs from the start: starting it after a machine has been copied would take
# longer than its work.
use strict;
use warnings;
use Socket;

my ($clock_settime) = @ARGV;
my ($rndaddentropy, $rndreseedcrng, $siocsifhwaddr, $realtime, $ethernet) = (0x40085203, 0x5207, 0x8924, 0, 1);
$| = 1;
print "ok\n";

while (my $line = <STDIN>) {
  my ($hex, $seconds, $nanoseconds) = split ' ', $line;
  my $refused = eval { renew_randomness($hex); set_clock($seconds, $nanoseconds); renew_address(); 1 } ? '' : $@;
  $refused =~ s/\s+/ /g;
  print $refused eq '' ? "ok\n" : "$refused\n";
}

# Adds the bytes to the pool and reseeds the generator.
sub renew_randomness {
  my $entropy = pack 'H*', shift;
  open my $random, '+<', '/dev/random' or die "random: $!";
  ioctl $random, $rndaddentropy, pack('l l a*', 8 * length $entropy, length $entropy, $entropy) or die "entropy: $!";
  ioctl $random, $rndreseedcrng, 0 or die "reseed: $!";
}

sub set_clock {
  my $time = pack 'q q', @_;
  syscall($clock_settime, $realtime, $time) == 0 or die "clock: $!";
}

# A hardware address that nobody sees outside. Its first byte marks it as locally administered.
sub renew_address {
  open my $random, '<', '/dev/urandom' or die "urandom: $!";
  sysread($random, my $bytes, 5) == 5 or die "urandom: $!";
  socket my $socket, AF_INET, SOCK_DGRAM, 0 or die "socket: $!";
  ioctl $socket, $siocsifhwaddr, pack('a16 S C a5 x16', 'eth0', $ethernet, 2, $bytes) or die "address: $!";
}
