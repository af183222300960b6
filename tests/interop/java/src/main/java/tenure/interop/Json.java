package tenure.interop;

import java.util.Map;
import java.util.StringJoiner;

/** JSON objects of texts, numbers and truth values, one per line, each written at once. */
final class Json {
    private Json() {}

    static synchronized void line(Map<String, ?> fields) {
        System.out.println(text(fields));
        System.out.flush();
    }

    static String text(Map<String, ?> fields) {
        StringJoiner all = new StringJoiner(", ", "{", "}");
        fields.forEach((name, value) -> all.add(quoted(name) + ": "
            + (value == null || value instanceof Number || value instanceof Boolean ? value : quoted(value.toString()))));
        return all.toString();
    }

    private static String quoted(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') quoted.append('\\').append(c);
            else if (c < ' ') quoted.append(String.format("\\u%04x", (int) c));
            else quoted.append(c);
        }
        return quoted.append('"').toString();
    }
}
