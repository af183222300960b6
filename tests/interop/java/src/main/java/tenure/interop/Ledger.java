package tenure.interop;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** What holders claim, judged by tests/interop/judge.py: one line per claim, appended in one write. */
final class Ledger {
    private final FileOutputStream file;
    private final String holder;

    Ledger(String path, String holder) throws IOException {
        this.file = new FileOutputStream(path, true);
        this.holder = holder;
    }

    void begin(long t) throws IOException {
        write(t, "begin", null);
    }

    void valid(long t) throws IOException {
        write(t, "valid", null);
    }

    void end(long t, String why) throws IOException {
        write(t, "end", why);
    }

    private void write(long t, String what, String why) throws IOException {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("t", t);
        fields.put("holder", holder);
        fields.put("pid", ProcessHandle.current().pid());
        fields.put("e", what);
        if (why != null) fields.put("why", why);
        file.write((Json.text(fields) + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
