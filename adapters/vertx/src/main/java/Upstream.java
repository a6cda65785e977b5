import static java.nio.charset.StandardCharsets.UTF_8;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.net.URLEncoder;

/** Asks the upstream with Vert.x's own client, which keeps connections alive; by default no more than 5. */
final class Upstream implements Handler<RoutingContext> {
    private static final int CONNECTIONS = 64;

    private final String base = System.getenv().getOrDefault("UPSTREAM_URL", "http://127.0.0.1:9000");
    private final HttpClient client;

    Upstream(Vertx vertx) {
        client = vertx.createHttpClient(new HttpClientOptions().setMaxPoolSize(CONNECTIONS));
    }

    @Override
    public void handle(RoutingContext context) {
        var nonce = context.pathParam("nonce");
        var item = URLEncoder.encode(nonce, UTF_8).replace("+", "%20"); // it writes forms
        client.request(new RequestOptions().setAbsoluteURI(base + "/item/" + item))
                .compose(HttpClientRequest::send)
                .compose(Upstream::body)
                .map(Buffer::toJsonObject)
                .onSuccess(upstream -> context.json(new JsonObject().put("nonce", nonce).put("upstream", upstream)))
                .onFailure(error -> context.fail(502));
    }

    private static Future<Buffer> body(HttpClientResponse response) {
        if (response.statusCode() == 200) return response.body();
        return Future.failedFuture("the upstream answered " + response.statusCode());
    }
}
