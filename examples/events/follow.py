"""Follows who leads: python3 follow.py http://127.0.0.1:9200/events"""

import json, sys, time, urllib.request

last = ""
while True:
    try:
        request = urllib.request.Request(sys.argv[1], headers={"Last-Event-ID": last})
        for line in urllib.request.urlopen(request, timeout=15):  # a quiet stream has a line every 5 s
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "data":
                print(json.loads(value)["leader"], flush=True)
            last = value if name == "id" else last
    except (OSError, ValueError) as error:  # ValueError: cut off within a line
        print(error, file=sys.stderr)
    time.sleep(1)
