import java.io.*;
import java.util.concurrent.*;

class JavaPools {
    static final ExecutorService pool = Executors.newFixedThreadPool(2);
    static boolean fixed;

    static void elsewhere(Runnable task) throws Exception {
        pool.submit(task).get();
    }

    static void sync(String path) throws IOException {
        try (var channel = java.nio.channels.FileChannel.open(java.nio.file.Path.of(path))) {
            channel.force(true);
        }
    }

    static PrintStream open(String name) throws IOException {
        return new PrintStream(new BufferedOutputStream(new FileOutputStream(name)));
    }

    static void config() throws Exception {
        PrintStream file = open("config.new");
        file.print("theme = dark\n");
        elsewhere(file::close); // LOST config
        if (fixed) sync("config.new");
        CompletableFuture.runAsync(() -> new File("config.new").renameTo(new File("config"))).get(); // SURVIVED config
    }

    static void entry() throws Exception {
        try (FileOutputStream file = new FileOutputStream("entry.new")) {
            file.write("entry 1\n".getBytes());
            file.getFD().sync();
        }
        Thread thread = new Thread(() -> new File("entry.new").renameTo(new File("entry"))); // LOST entry
        thread.start();
        thread.join();
        if (fixed) sync(".");
        System.out.println("entry"); // ACKED entry
    }

    static void table() throws Exception {
        String name = fixed ? "table.new" : "table";
        FileOutputStream file = new FileOutputStream(name); // SURVIVED table
        elsewhere(() -> {
            try {
                file.write("new new new\n".getBytes()); // LOST table
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        file.close();
        sync(name);
        if (fixed) new File(name).renameTo(new File("table"));
    }

    static void journal() throws Exception {
        PrintStream file = open("journal");
        file.print("paid 10\n");
        elsewhere(file::flush); // LOST journal
        if (fixed) sync("journal");
        System.out.println("paid"); // ACKED journal
        sync("journal");
    }

    static void order() throws Exception {
        PrintStream blob = open("blob");
        PrintStream index = open("index");
        blob.print("blob blob\n");
        elsewhere(blob::flush); // LOST order
        if (fixed) sync("blob");
        index.print("blob at 0\n");
        elsewhere(index::flush); // SURVIVED order
        sync("index");
        sync("blob");
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
        pool.shutdown();
    }
}
