"""Counts test cases in the event log of a `bazel test`.

usage: count_tests.py EVENTS EXIT_STATUS

EVENTS is what --build_event_json_file wrote, EXIT_STATUS how Bazel ended. The
log says which targets there were and where their test.xml files are, so results
of an earlier run are never counted. Prints what failed and ends with the line
`N passed, M failed`; exit status 1 if anything failed.

A test case is one <testcase> of a test.xml. Whatever kept test cases from being
reported (a target that did not build, a program that crashed or ran out of
time, a BUILD file that could not be read) counts as one failure.
"""

import json
import os
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree

# How many failing cases of one target to name.
MAX_NAMES = 50


def read_events(path):
  events = []
  with open(path, encoding='utf-8', errors='replace') as f:
    for line in f:
      try:
        events.append(json.loads(line))
      except json.JSONDecodeError:
        pass  # The last line of a Bazel that was killed.
  return events


def local_path(output):
  uri = output.get('uri', '')
  if not uri.startswith('file://'):
    return None
  return urllib.request.url2pathname(urllib.parse.urlparse(uri).path)


class Target:
  """What one test target came to."""

  def __init__(self):
    self.status = 'NO_STATUS'
    self.passed = 0
    self.skipped = 0
    self.failures = []  # Names of test cases.
    self.logs = []


def read_xml(target, path):
  """Adds the test cases of one test.xml; false if it cannot be read."""
  try:
    root = xml.etree.ElementTree.parse(path).getroot()
  except (OSError, xml.etree.ElementTree.ParseError):
    return False
  for case in root.iter('testcase'):
    name = case.get('name', '?')
    if case.get('classname'):
      name = case.get('classname') + '.' + name
    error = case.find('error')
    if error is not None:  # Bazel's own words where the program left none.
      target.failures.append('%s: %s' % (name, error.get('message', 'error')))
    elif case.find('failure') is not None:
      target.failures.append(name)
    elif case.find('skipped') is not None or case.get('result') == 'skipped':
      target.skipped += 1
    elif case.get('status') == 'notrun' or case.get('result') == 'suppressed':
      pass  # Disabled, or another shard's.
    else:
      target.passed += 1
  return True


def collect(events):
  """Returns the test targets by label, and what else went wrong."""
  targets = {}
  broken = {}
  attempts = {}
  for event in events:
    id_ = event.get('id', {})
    if 'testResult' in id_:
      # Of several attempts at one shard the last decides.
      r = id_['testResult']
      key = (r['label'], r.get('run', 1), r.get('shard', 1))
      if r.get('attempt', 1) >= attempts.get(key, (0, None))[0]:
        attempts[key] = (r.get('attempt', 1), event.get('testResult', {}))
    elif 'testSummary' in id_:
      label = id_['testSummary']['label']
      summary = event.get('testSummary', {})
      targets.setdefault(label, Target()).status = summary.get(
          'overallStatus', 'NO_STATUS')
    elif 'targetCompleted' in id_:
      if not event.get('completed', {}).get('success', False):
        broken[id_['targetCompleted']['label']] = 'did not build'
    elif 'aborted' in event:
      for kind in ('targetConfigured', 'configuredLabel', 'unconfiguredLabel'):
        if kind in id_:
          broken[id_[kind]['label']] = 'could not be analysed'
      if 'pattern' in id_:
        broken[' '.join(id_['pattern'].get('pattern', []))] = (
            'could not be read: ' + event['aborted'].get('description', ''))

  for (label, _, _), (_, result) in sorted(attempts.items()):
    target = targets.setdefault(label, Target())
    for output in result.get('testActionOutput', []):
      path = local_path(output)
      if path is None:
        continue
      if output.get('name') == 'test.xml':
        read_xml(target, path)
      elif output.get('name') == 'test.log':
        target.logs.append(path)
  return targets, broken


def main():
  if len(sys.argv) != 3:
    sys.exit(__doc__)
  exit_status = int(sys.argv[2])
  events = read_events(sys.argv[1]) if os.path.exists(sys.argv[1]) else []
  targets, broken = collect(events)

  passed = failed = skipped = 0
  lines = []
  for label, target in sorted(targets.items()):
    passed += target.passed
    skipped += target.skipped
    if target.status in ('PASSED', 'FLAKY') and not target.failures:
      continue
    why = 'did not build' if label in broken else target.status.lower().replace('_', ' ')
    broken.pop(label, None)
    failed += max(1, len(target.failures))
    lines.append('%s: %s' % (label, why))
    for name in target.failures[:MAX_NAMES]:
      lines.append('    ' + name)
    if len(target.failures) > MAX_NAMES:
      lines.append('    and %d more' % (len(target.failures) - MAX_NAMES))
    for log in target.logs:
      lines.append('    log: ' + log)
  if exit_status == 8:
    lines.append('interrupted: some targets were not built or tested')
    failed += 1
    broken = {}
  for label, why in sorted(broken.items()):
    failed += 1
    lines.append('%s: %s' % (label, why))
  if exit_status == 4:
    lines.append('there are no tests')
    failed += 1
  elif exit_status != 0 and failed == 0:
    lines.append('bazel ended with status %d' % exit_status)
    failed += 1

  if lines:
    print('Failed:')
    for line in lines:
      print('  ' + line)
  if skipped:
    print('%d skipped' % skipped)
  print('%d passed, %d failed' % (passed, failed))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
