import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import tools.jackson.databind.json.JsonMapper;

/** What the JDK's own HTTP server costs with nothing on top of it. */
public final class Server {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String HELLO = "/hello/";

    record Hello(String hello) {}

    public static void main(String[] args) throws IOException {
        var server = HttpServer.create(new InetSocketAddress("0.0.0.0", 8080), 0);
        // Without an executor the thread that accepts connections handles every request itself.
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/", Server::root);
        server.createContext(HELLO, Server::hello);
        server.start();
    }

    /** A context is a prefix: this one also gets whatever no other one takes. */
    private static void root(HttpExchange exchange) throws IOException {
        if (!exchange.getRequestURI().getRawPath().equals("/")) text(exchange, 404, "Not Found");
        else if (refused(exchange)) text(exchange, 405, "Method Not Allowed");
        else text(exchange, 200, "ok");
    }

    private static void hello(HttpExchange exchange) throws IOException {
        var uri = exchange.getRequestURI();
        var segment = uri.getRawPath().substring(HELLO.length());
        var nonce = uri.getPath().substring(HELLO.length());
        if (segment.isEmpty() || segment.contains("/")) text(exchange, 404, "Not Found");
        else if (refused(exchange)) text(exchange, 405, "Method Not Allowed");
        else reply(exchange, 200, "application/json", JSON.writeValueAsBytes(new Hello(nonce)));
    }

    private static boolean refused(HttpExchange exchange) {
        return !exchange.getRequestMethod().equals("GET") && !exchange.getRequestMethod().equals("HEAD");
    }

    private static void text(HttpExchange exchange, int status, String body) throws IOException {
        reply(exchange, status, "text/plain", body.getBytes());
    }

    private static void reply(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", type);
        if (exchange.getRequestMethod().equals("HEAD")) {
            // The server leaves the length out where it is to send no body.
            exchange.getResponseHeaders().set("Content-Length", Integer.toString(body.length));
            exchange.sendResponseHeaders(status, -1);
            return;
        }
        exchange.sendResponseHeaders(status, body.length);
        try (var out = exchange.getResponseBody()) {
            out.write(body);
        }
    }
}
