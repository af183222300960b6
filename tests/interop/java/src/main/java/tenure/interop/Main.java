package tenure.interop;

import java.util.Arrays;

/** AWS's DynamoDB lock client as a program. Results are JSON, one object per line of stdout. */
public final class Main {
    private static final String USAGE = """
        hold  ENDPOINT TABLE KEY OWNER LEASE_MS HEARTBEAT_MS         acquire, hold until stdin closes, release
        lead  ENDPOINT TABLE KEY OWNER LEASE_MS HEARTBEAT_MS         acquire and hold; again after each loss
        fight ENDPOINT TABLE KEY OWNER LEASE_MS HEARTBEAT_MS LEDGER  acquire, write to LEDGER, release, again and again
        list  ENDPOINT TABLE                                         all locks as the library sees them
        row   ENDPOINT TABLE [SORT_KEY_NAME]                         write one row of each kind; made if it is missing
        """;

    private Main() {}

    public static void main(String[] a) throws Exception {
        String mode = a.length == 0 ? "" : a[0];
        String[] rest = a.length == 0 ? a : Arrays.copyOfRange(a, 1, a.length);
        try {
            switch (mode) {
                case "hold" -> Hold.run(rest);
                case "lead" -> Lead.run(rest);
                case "fight" -> Fight.run(rest);
                case "list" -> ListLocks.run(rest);
                case "row" -> Rows.run(rest);
                default -> usage();
            }
        } catch (ArrayIndexOutOfBoundsException missing) {
            usage();
        }
        // Threads of the SDK and of the library would keep the machine running.
        System.exit(0);
    }

    private static void usage() {
        System.err.print(USAGE);
        System.exit(2);
    }
}
