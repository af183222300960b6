package tenure.interop;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.ReleaseLockOptions;
import com.amazonaws.services.dynamodbv2.model.LockNotGrantedException;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import software.amazon.awssdk.core.exception.SdkException;

/**
 * Competes for one lock for ever: holds it for a random time, saying in the ledger that it does, then releases it, or
 * leaves it to expire. Kills and pauses come from outside; after SIGTERM it releases what it holds and ends.
 */
final class Fight {
    private static final long MOST_HOLD_MS = 4000;

    private final AtomicBoolean stopping = new AtomicBoolean();
    private final Random random = new Random();
    private final AmazonDynamoDBLockClient client;
    private final String key;
    private final Ledger ledger;

    private Fight(String[] a) throws Exception {
        client = new AmazonDynamoDBLockClient(Clients.options(Clients.dynamo(a[0]), a[1], a[3], Long.parseLong(a[4]),
            Long.parseLong(a[5])).build());
        key = a[2];
        ledger = new Ledger(a[6], a[3]);
    }

    static void run(String[] a) throws Exception {
        Fight fight = new Fight(a);
        CountDownLatch ended = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            fight.stopping.set(true);
            try {
                ended.await(10, TimeUnit.SECONDS);
            } catch (InterruptedException hurry) {
                // the lock is left to expire
            }
        }));
        while (!fight.stopping.get()) fight.round();
        ended.countDown();
        Thread.sleep(60_000); // the shutdown is under way and ends this thread
    }

    private void round() throws Exception {
        LockItem lock;
        boolean delete = random.nextBoolean();
        try {
            lock = client.acquireLock(AcquireLockOptions.builder(key).withTimeUnit(TimeUnit.MILLISECONDS)
                .withRefreshPeriod(50L + random.nextInt(100)).withAdditionalTimeToWaitForLock(1_000L)
                .withDeleteLockOnRelease(delete).build());
        } catch (LockNotGrantedException again) {
            return;
        } catch (SdkException error) {
            System.err.println("acquireLock: " + error);
            return;
        }
        boolean valid = critical(lock);
        if (valid && random.nextInt(10) == 0) pause(lock.getLeaseDuration() * 2);
        try {
            client.releaseLock(ReleaseLockOptions.builder(lock).withDeleteLock(delete).withBestEffort(true).build());
        } catch (RuntimeException error) {
            System.err.println("releaseLock: " + error);
        }
        // Others shall get their turn: a release is seen at the others' next look only.
        pause(200 + random.nextInt(1000));
    }

    /** Writes while the library says that the lock is held. Returns whether it said so to the end. */
    private boolean critical(LockItem lock) throws Exception {
        long until = System.nanoTime() + (100 + random.nextLong(MOST_HOLD_MS)) * 1_000_000;
        // Each time is taken before the question: what is true afterwards was true then.
        long now = System.nanoTime();
        if (lock.isExpired()) return false;
        ledger.begin(now);
        while (true) {
            now = System.nanoTime();
            if (lock.isExpired()) {
                ledger.end(now, "expired");
                return false;
            }
            if (now >= until || stopping.get()) {
                ledger.end(now, "released");
                return true;
            }
            ledger.valid(now);
            Thread.sleep(5);
        }
    }

    private void pause(long ms) throws InterruptedException {
        long until = System.nanoTime() + ms * 1_000_000;
        while (!stopping.get() && System.nanoTime() < until) Thread.sleep(20);
    }
}
