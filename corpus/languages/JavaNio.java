import static java.nio.file.StandardOpenOption.*;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.concurrent.*;

class JavaNio {
    static boolean fixed;

    static void sync(String path) throws IOException {
        try (FileChannel channel = FileChannel.open(Path.of(path))) {
            channel.force(true);
        }
    }

    static void config() throws IOException {
        Files.writeString(Path.of("config.new"), "theme = dark\n"); // LOST config
        if (fixed) sync("config.new");
        Files.move(Path.of("config.new"), Path.of("config"), StandardCopyOption.ATOMIC_MOVE); // SURVIVED config
    }

    static void entry() throws IOException {
        Files.writeString(Path.of("entry.new"), "entry 1\n");
        sync("entry.new");
        Files.move(Path.of("entry.new"), Path.of("entry"), StandardCopyOption.ATOMIC_MOVE); // LOST entry
        if (fixed) sync(".");
        System.out.println("entry"); // ACKED entry
    }

    static void table() throws IOException {
        Path path = Path.of(fixed ? "table.new" : "table");
        Files.writeString(path, "new new new\n"); // SURVIVED table LOST table
        sync(path.toString());
        if (fixed) Files.move(path, Path.of("table"), StandardCopyOption.ATOMIC_MOVE);
    }

    static void journal() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        pool.submit(() -> {
            Files.write(Path.of("journal"), "paid 10\n".getBytes(), APPEND); // LOST journal
            if (fixed) sync("journal");
            System.out.println("paid"); // ACKED journal
            sync("journal");
            return null;
        }).get();
        pool.shutdown();
    }

    static void order() throws IOException {
        FileChannel blob = FileChannel.open(Path.of("blob"), WRITE), index = FileChannel.open(Path.of("index"), WRITE);
        blob.write(ByteBuffer.wrap("blob blob\n".getBytes())); // LOST order
        if (fixed) blob.force(false);
        index.write(ByteBuffer.wrap("blob at 0\n".getBytes())); // SURVIVED order
        index.force(true);
        blob.force(true);
    }

    public static void main(String[] args) throws Exception {
        fixed = args.length > 0 && args[0].equals("fixed");
        config();
        sync(".");
        entry();
        sync(".");
        table();
        sync(".");
        journal();
        sync(".");
        order();
    }
}
