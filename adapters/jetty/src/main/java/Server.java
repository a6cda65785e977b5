import java.nio.ByteBuffer;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpMethod;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.pathmap.UriTemplatePathSpec;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.handler.PathMappingsHandler;
import org.eclipse.jetty.util.Callback;
import tools.jackson.databind.json.JsonMapper;

/** Jetty's core: its handlers, without servlets. */
public final class Server {
    private static final JsonMapper JSON = new JsonMapper();
    private static final String HELLO = "/hello/";

    record Hello(String hello) {}

    public static void main(String[] args) throws Exception {
        // Not dynamic: then Jetty knows that no handler blocks, and calls them from the thread that selects.
        var routes = new PathMappingsHandler(false);
        routes.addMapping(new UriTemplatePathSpec("/"), new Get("text/plain") {
            @Override
            byte[] body(Request request) {
                return "ok".getBytes();
            }
        });
        routes.addMapping(new UriTemplatePathSpec(HELLO + "{nonce}"), new Get("application/json") {
            @Override
            byte[] body(Request request) {
                var path = request.getHttpURI().getDecodedPath();
                return JSON.writeValueAsBytes(new Hello(path.substring(HELLO.length())));
            }
        });

        var server = new org.eclipse.jetty.server.Server(8080);
        server.setHandler(routes);
        server.setStopAtShutdown(true);
        server.start();
    }

    /** A route for GET and HEAD; what is not a route is left to the server, which answers 404. */
    private abstract static class Get extends Handler.Abstract.NonBlocking {
        private final String type;

        Get(String type) {
            this.type = type;
        }

        abstract byte[] body(Request request);

        @Override
        public boolean handle(Request request, Response response, Callback callback) {
            if (!HttpMethod.GET.is(request.getMethod()) && !HttpMethod.HEAD.is(request.getMethod())) {
                Response.writeError(request, response, callback, HttpStatus.METHOD_NOT_ALLOWED_405);
                return true;
            }
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, type);
            response.write(true, ByteBuffer.wrap(body(request)), callback);
            return true;
        }
    }
}
