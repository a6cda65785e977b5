import io.vidocq.chappe.api.Request;
import io.vidocq.chappe.api.Response;
import io.vidocq.chappe.api.Router;
import io.vidocq.chappe.api.StatusCode;
import java.io.ByteArrayOutputStream;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.json.JsonFactory;

/** Chappe: a virtual thread for each connection. It answers HEAD by the routes for GET, and other methods with 405. */
public final class Server {
    private static final JsonFactory JSON = new JsonFactory();

    public static void main(String[] args) throws InterruptedException {
        var router = Router.builder()
                .get("/", _ -> Response.ok("ok"))
                .get("/hello/{nonce}", Server::hello)
                .build();
        io.vidocq.chappe.api.Server.builder().host("0.0.0.0").port(8080).handler(router).build().start();
        // Its threads are virtual: none of them keeps the process alive.
        Thread.currentThread().join();
    }

    /** Written token by token: Chappe has no JSON of its own, and a native image would have to be told what is reflected on. */
    private static Response hello(Request request) {
        var body = new ByteArrayOutputStream();
        try (var json = JSON.createGenerator(ObjectWriteContext.empty(), body)) {
            json.writeStartObject();
            json.writeStringProperty("hello", request.pathParams().get("nonce"));
            json.writeEndObject();
        }
        return Response.builder()
                .status(StatusCode.OK)
                .header("Content-Type", "application/json")
                .body(body.toByteArray())
                .build();
    }
}
