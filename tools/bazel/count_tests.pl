#!/usr/bin/perl
# Counts test cases in the event log of a `bazel test`.
#
# usage: count_tests.pl EVENTS EXIT_STATUS
#
# EVENTS is what --build_event_json_file wrote (one event a line), EXIT_STATUS how Bazel ended. The log says which
# targets there were and where their test.xml files are, so results of an earlier run are never counted. Prints what
# failed and ends with the line `N passed, M failed`; exit status 1 if anything failed.
#
# A test case is one <testcase> of a test.xml. Whatever kept test cases from being reported (a target that did not
# build, a program that crashed or ran out of time, a BUILD file that could not be read) counts as one failure.
#
# Perl, because Debian's base system has it; only its core, so the events are read by pattern.
use strict;
use warnings;

# How many failing cases of one target to name.
my $MAX_NAMES = 50;

die "usage: count_tests.pl EVENTS EXIT_STATUS\n" unless @ARGV == 2;
my ($events_path, $exit_status) = @ARGV;

my (%status, %broken, %attempt, %result);
if (open(my $events, '<', $events_path)) {
  while (my $event = <$events>) {
    if ($event =~ /^\{"id":\{"testResult":\{([^{}]*)/) {
      my $id = $1;
      my ($label) = $id =~ /"label":"([^"]*)"/;
      my $shard = join '/', map { $id =~ /"$_":(\d+)/ ? $1 : 1 } qw(run shard);
      my $number = $id =~ /"attempt":(\d+)/ ? $1 : 1;
      # Of several attempts at one shard the last decides.
      next if $number < ($attempt{"$label $shard"} // 0);
      $attempt{"$label $shard"} = $number;
      my %files = $event =~ /"name":"(test\.(?:xml|log))","uri":"file:\/\/([^"]*)"/g;
      s/%([0-9A-Fa-f]{2})/chr(hex($1))/ge for values %files;
      $result{$label}{$shard} = \%files;
      $status{$label} //= 'NO_STATUS';
    } elsif ($event =~ /^\{"id":\{"testSummary":\{"label":"([^"]*)"/) {
      my $label = $1;
      $status{$label} = $event =~ /"overallStatus":"(\w+)"/ ? $1 : 'NO_STATUS';
    } elsif ($event =~ /^\{"id":\{"targetCompleted":\{"label":"([^"]*)"/) {
      my $label = $1;
      $broken{$label} = 'did not build' unless $event =~ /"success":true/;
    } elsif ($event =~ /"aborted":/) {
      if ($event =~ /^\{"id":\{"(?:targetConfigured|configuredLabel|unconfiguredLabel)":\{"label":"([^"]*)"/) {
        $broken{$1} = 'could not be analysed';
      } elsif ($event =~ /^\{"id":\{"pattern":\{"pattern":\["([^\]]*)"\]/) {
        my $pattern = $1;
        my $why = $event =~ /"description":"((?:[^"\\]|\\.)*)"/ ? $1 : '';
        $why =~ s/\\u(00[0-7][0-9a-f])/chr(hex($1))/ge;
        $broken{$pattern} = "could not be read: $why";
      }
    }
  }
  close $events;
}

my ($passed, $failed, $skipped, @lines) = (0, 0, 0);

# Adds up the test cases of one test.xml; returns the names of those that failed.
sub read_xml {
  my ($path) = @_;
  my @failures;
  open(my $file, '<', $path) or return;
  local $/;
  my $xml = <$file>;
  while ($xml =~ /<testcase\b((?:[^>"]|"[^"]*")*?)(?:\/>|>(.*?)<\/testcase>)/gs) {
    my ($attributes, $body) = ($1, $2 // '');
    my %attribute = $attributes =~ /(\w+)="([^"]*)"/g;
    my $name = join '.', grep { defined && length } @attribute{qw(classname name)};
    if ($body =~ /<error\b(?:[^>]*?message="([^"]*)")?/) {  # Bazel's own words where the program left none.
      push @failures, "$name: " . ($1 // 'error');
    } elsif ($body =~ /<failure\b/) {
      push @failures, $name;
    } elsif ($body =~ /<skipped\b/ || ($attribute{result} // '') eq 'skipped') {
      $skipped++;
    } elsif (($attribute{status} // '') ne 'notrun' && ($attribute{result} // '') ne 'suppressed') {
      $passed++;
    }
  }
  return @failures;
}

for my $label (sort keys %status) {
  my (@failures, @logs);
  for my $shard (sort keys %{$result{$label} // {}}) {
    my $files = $result{$label}{$shard};
    push @failures, read_xml($files->{'test.xml'}) if $files->{'test.xml'};
    push @logs, $files->{'test.log'} if $files->{'test.log'};
  }
  my $good = $status{$label} eq 'PASSED' || $status{$label} eq 'FLAKY';
  next if $good && !@failures;
  my $why = $broken{$label} ? 'did not build' : lc($status{$label}) =~ tr/_/ /r;
  delete $broken{$label};
  $failed += @failures || 1;
  push @lines, "$label: $why";
  push @lines, "    $_" for @failures > $MAX_NAMES ? @failures[0 .. $MAX_NAMES - 1] : @failures;
  push @lines, '    and ' . (@failures - $MAX_NAMES) . ' more' if @failures > $MAX_NAMES;
  push @lines, "    log: $_" for @logs;
}
if ($exit_status == 8) {
  push @lines, 'interrupted: some targets were not built or tested';
  $failed++;
  %broken = ();
}
for my $label (sort keys %broken) {
  push @lines, "$label: $broken{$label}";
  $failed++;
}
if ($exit_status == 4) {
  push @lines, 'there are no tests';
  $failed++;
} elsif ($exit_status != 0 && $failed == 0) {
  push @lines, "bazel ended with status $exit_status";
  $failed++;
}

if (@lines) {
  print "Failed:\n";
  print "  $_\n" for @lines;
}
print "$skipped skipped\n" if $skipped;
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
