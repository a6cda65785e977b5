# A web server that serves `ok` and `hello` as it should, or lies in the one way that LIE names: what the tests hold
# against parity and the record. Plain Perl, as it is in every Debian.
use strict;
use warnings;
use Socket qw(:DEFAULT IPPROTO_IPV6 IPV6_V6ONLY IN6ADDR_LOOPBACK);

my $lie = $ENV{LIE} // '';
$SIG{TERM} = sub { exit 0 };
$SIG{PIPE} = 'IGNORE';

if ($lie eq 'ends') {
    print STDERR "this target ends at once\n";
    exit 7;
}
sleep 1 while $lie eq 'deaf';

my $listener;
if ($lie eq 'ipv6') {
    socket($listener, PF_INET6, SOCK_STREAM, 0) or die "no IPv6: $!\n";
    bind($listener, pack_sockaddr_in6(8080, IN6ADDR_LOOPBACK)) or die "no IPv6: $!\n";
} else {
    socket($listener, PF_INET, SOCK_STREAM, 0) or die $!;
    setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1) or die $!;
    bind($listener, pack_sockaddr_in(8080, INADDR_ANY)) or die $!;
}
listen($listener, 512) or die $!;

# The load opens many connections and parity few: so it knows which of them asks. Under load it takes its time, because a
# generator may be late by a tenth of what its target takes: a busy machine then makes no cell invalid.
my $few = 16;
my $takes_s = 0.1;

my $loaded = 0;    # requests under load since the start
my $served = 0;    # requests of any kind
my @hoard;         # what `hoards` keeps
my %peer;          # file number -> { socket, text that came }
my @due;           # [ when, peer, response ], in their order

while (1) {
    my $wanted = '';
    vec($wanted, $_, 1) = 1 for fileno($listener), keys %peer;
    my $wait_s = @due ? $due[0][0] - now() : undef;
    my $ready = select $wanted, undef, undef, defined $wait_s && $wait_s < 0 ? 0 : $wait_s;
    while (@due && $due[0][0] <= now()) {
        my (undef, $peer, $response) = @{ shift @due };
        syswrite $peer->{socket}, $response;
    }
    next if $ready < 1;
    serve($_) for grep { vec($wanted, $_, 1) } keys %peer;
    if (vec($wanted, fileno($listener), 1) and accept(my $socket, $listener)) {
        $peer{fileno $socket} = { socket => $socket, text => '' };
    }
}

# Seconds, to a hundredth: the base has no Time::HiRes.
sub now {
    open my $uptime, '<', '/proc/uptime' or die $!;
    return (split ' ', <$uptime>)[0];
}

sub serve {
    my ($number) = @_;
    my $peer = $peer{$number};
    my $length = sysread $peer->{socket}, $peer->{text}, 65536, length $peer->{text};
    return delete $peer{$number} unless $length;
    while ($peer->{text} =~ s/\A(\S+) (\S+) HTTP\/1\.1\r\n.*?\r\n\r\n//s) {
        my $is_loaded = keys %peer > $few;
        $loaded++ if $is_loaded;
        $served++;
        misbehave();
        my $response = response($1, $2, $is_loaded);
        if ($is_loaded) {
            push @due, [ now() + $takes_s, $peer, $response ];
        } else {
            syswrite $peer->{socket}, $response;
        }
    }
}

# What it does besides answering.
sub misbehave {
    # Several times what the engine keeps, and little enough that the engine's own work for it is no disturbance.
    print STDERR 'flood ' x 150, "\n" for $lie eq 'floods' ? 1 .. 4 : ();
    push @hoard, 'x' x 1_000_000 if $lie eq 'hoards' and $loaded > 300;
}

sub response {
    my ($method, $path, $is_loaded) = @_;
    my ($status, $type, $body) = (404, 'text/plain', 'not found');
    my $is_read = $method =~ /^(GET|HEAD)$/;
    if ($path =~ m{^/(\?.*)?$} and $is_read) {
        ($status, $body) = (200, 'ok');
        $status = 201 if $lie eq 'status';
        $body = 'ko' if $lie eq 'body';
    } elsif ($path =~ m{^/hello/([^/?]+)$}) {
        (my $name = $1) =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge;
        $name = '0123456789abcdef' if $lie eq 'nonce';
        ($status, $type, $body) = (200, 'application/json', qq({"hello":"$name"}));
        ($status, $body) = (405, 'no') unless $is_read;
    }
    $type = 'application/octet-stream' if $lie eq 'type';
    ($status, $body) = (500, 'oh no') if $lie eq 'errors' and $is_loaded and $loaded % 100 == 0;
    my $head = "HTTP/1.1 $status As It Is\r\nContent-Length: " . length($body) . "\r\n";
    $head .= "Content-Type: $type\r\n" unless $lie eq 'header' or $lie eq 'shy' && $is_loaded;
    $head .= "Set-Cookie: sid=1\r\n" if $lie eq 'session' and $served == 300;
    $head .= "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n" if $lie eq 'frozen';
    return "$head\r\n" . ($method eq 'HEAD' ? '' : $body);
}
